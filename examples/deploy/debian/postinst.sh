#!/bin/sh
# Creates the user of the service, and lets a running coordinator use the new program. It does not start one: choose its address first.
set -e
if [ "$1" = configure ]; then
    systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} folkmoot.conf
    if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
        systemctl daemon-reload || true
        systemctl try-restart folkmoot.service || true
    fi
fi
