"""Device conditions and policy, limits, and the transparency log.

These are the native library's own records. All fields have defaults and are keyword arguments.
"""

from ._native import folkmoot_mobile as native

DeviceConditions = native.DeviceConditions
DevicePolicy = native.DevicePolicy
Limits = native.Limits
LogEntry = native.LogEntry
ProtectionLevel = native.ProtectionLevel
Thermal = native.Thermal

__all__ = ["DeviceConditions", "DevicePolicy", "Limits", "LogEntry", "ProtectionLevel", "Thermal"]
