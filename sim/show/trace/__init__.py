"""What a run did, cycle by cycle, in files: one stream of cycles, one writer a format.

The cycles are those of the hardware or of a prediction. :mod:`.cycles` makes of the record of each
(:data:`sim.predict.model.records.EVENT`) what all writers need; :mod:`.rows` makes events of it, as they are in CSV and
Parquet (:mod:`.tables`).
"""
