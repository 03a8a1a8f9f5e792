"""Campaigns: checks of many seeds spread over Dask workers, resumable, with one report at the end."""
