"""Networks that are computed: links, topologies, and schedules on them.  Nothing here takes real time."""
