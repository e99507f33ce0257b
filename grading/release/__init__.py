"""Make what students get: the course without answers, and only when its checks have been tried."""
