"""What others run or read because settings of a workspace, or the user's own, name it: hooks, shells, hosts, logins."""
