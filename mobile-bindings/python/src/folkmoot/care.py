"""When a device trains, how much it may use, and what its user can read of it.

These are the library's own records: all fields have defaults, and are given by name.
"""

from ._native import folkmoot_mobile as native

DeviceConditions = native.DeviceConditions
DevicePolicy = native.DevicePolicy
Limits = native.Limits
LogEntry = native.LogEntry
ProtectionLevel = native.ProtectionLevel
Thermal = native.Thermal

__all__ = ["DeviceConditions", "DevicePolicy", "Limits", "LogEntry", "ProtectionLevel", "Thermal"]
