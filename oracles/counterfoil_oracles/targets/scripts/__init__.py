"""Scripts that show a finding with the library's own calls, and nothing of ours."""
