# One of two calls at the same time: `a` plants settings, `b` begins while they are there and ends after `a` has ended.
if [ "$1" = a ]; then echo "$2" >.mcp.json; fi
touch "hostile/$1.ready"
n=0
while [ ! -e "hostile/$1.go" ] && [ "$n" -lt 200 ]; do
    sleep 0.05
    n=$((n + 1))
done
