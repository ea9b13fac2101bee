"""pytest puts the folder of a conftest on the path: the tests in the folders below can import lane_harness."""
