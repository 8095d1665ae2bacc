#!/bin/sh
# Keeps the data, which has keys and models that cannot be made again.
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
if [ "$1" = purge ] && [ -d "$DPKG_ROOT/var/lib/folkmoot" ]; then
    echo "folkmoot: the data are still in $DPKG_ROOT/var/lib/folkmoot. Remove the folder if you need them no more."
fi
