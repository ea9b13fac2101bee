"""Trace files, which record a run cycle by cycle: one stream of cycles, one writer for each format.

The cycles come from the hardware or from a prediction. :mod:`.cycles` turns the record of each cycle
(:data:`sim.predict.model.records.EVENT`) into the data that all writers need; :mod:`.rows` turns these into events for
CSV and Parquet (:mod:`.tables`).
"""
