"""What is made from the list of metrics: the table for readers, dashboards and alarms as code."""
