"""Both halves over CUDA devices: the reference models them, the subject drives whatever driver there is."""
