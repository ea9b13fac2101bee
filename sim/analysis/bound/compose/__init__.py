"""From what each warp asks for to the time of all together: several ways, side by side (docs/wcet.md)."""
