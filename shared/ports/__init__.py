"""The sockets of the house: what the rooms need from outside, as protocols.

Three stores in one, the payment service, the clock and the source of ids. Every store method may raise
`Unavailable` (or its children `Throttled`, `Contended`, `AnswerLost`); repeating the very same call with the same
`op` after any of these is always safe, and recognised as done if it was.
"""
