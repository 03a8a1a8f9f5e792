"""Other opinions: what numpy, isl, ml_dtypes and mpmath say of questions that both halves answer.

Each module holds the topics one of them decides. A topic draws questions, gives its opinion of each or leaves it
undecided, and both halves' answers are held against it. ``table`` lists the topics with the floors a run must reach.
"""
