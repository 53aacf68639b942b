#!/bin/sh
# tune, with its trials under two agents of this machine; TUNE_PROGRAM: the driver.
if [ "$1" = run ]; then
  shift
  set -- run --hosts oak,elm --launcher '["env"]' --bind 127.0.0.1 "$@"
fi
exec "$TUNE_PROGRAM" "$@"
