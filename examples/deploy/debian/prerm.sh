#!/bin/sh
# Stops the coordinator before its program is removed.
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl disable --now folkmoot.service || true
fi
