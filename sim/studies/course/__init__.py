"""The course kit (docs/course): assignments about warp policies, graded with the predictor."""
