"""The administrative API of a coordinator, for notebooks and scripts. It needs only Python's standard library.

from folkmoot.admin import Admin

admin = Admin("https://127.0.0.1:8443", api_key, "folkmoot-data/ca.pem")
task = admin.create_task("task.toml", "model.onnx", activate=True)
for row in admin.watch(task):
    print(row["number"], row["phase"], row["accepted"])
admin.history(task).to_pandas()
"""

from .admin import Admin
from .errors import AdminRefusedError
from .history import History

__all__ = ["Admin", "AdminRefusedError", "History"]
