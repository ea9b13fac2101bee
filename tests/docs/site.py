"""The script that builds the site, as a module: docs/ is no package."""

import importlib.util
from types import ModuleType

from tests.docs.pages import ROOT


def load_site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "docs" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
