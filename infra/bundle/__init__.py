"""The Lambda bundle: which of our modules and which libraries run on AWS, in one archive that is always the same."""
