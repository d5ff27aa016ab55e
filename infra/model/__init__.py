"""The wall, modelled: DynamoDB's partition limits as pure code with its own virtual clock.

`partition_model` decides whether a request passes; `charges` turns an API call into what it costs;
`answers` says what DynamoDB would say; `proxy` puts the three in front of any endpoint; `simulate`
and `planner` ask the same rules what a sale would meet.

Times in this package are integer microseconds of a virtual clock (`*_us`): at 135,000 requests/s a
millisecond holds 135 of them.
"""
