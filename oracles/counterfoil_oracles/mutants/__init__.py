"""Planted defects: small mistakes put into copies of the halves, each of which the array machine must find alone."""
