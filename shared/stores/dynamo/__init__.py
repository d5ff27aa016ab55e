"""The store on Amazon DynamoDB, and the reader of its stream. The only room that speaks to AWS."""
