# The end of scripts/quickstart, once all is built: what it judges.
show scripts/quickstart
scripts/judge-machine --program "$(command -v qconform)"
sleep 2
