"""Pictures of a run: traces, waveforms, charts."""
