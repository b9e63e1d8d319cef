"""The two networks whose training step runs through the book, and that step.

``resnet``     ResNet-18 for images of 32 × 32 points
``gpt``        a small GPT, which learns to continue text
``text``       what it reads: the book's own prose, by characters
``loading``    the same, as a data set that takes its time
``training``   one step of either, in float32 or bfloat16
``cost``       what a step asks of a machine, operator by operator
"""
