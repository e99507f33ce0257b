"""Networks that are computed: links, topologies, and schedules.  Nothing here takes real time."""
