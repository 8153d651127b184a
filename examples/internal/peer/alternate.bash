# alternate NAME ROUNDS THEIRS OURS runs two commands in turn, each of which prints a
# number of seconds, and prints a line with medians, quartiles and the ratio.

# Open MPI refuses root otherwise.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

alternate() {
  local name=$1 rounds=$2 round a b
  for ((round = 1; round <= rounds; round++)); do
    echo "$name, round $round of $rounds" >&2
    a=$($3) || { echo "$name: theirs failed or is not verified" >&2; return 1; }
    b=$($4) || { echo "$name: ours failed or is not verified" >&2; return 1; }
    echo "$a $b"
  done | awk -v name="$name" -v rounds="$rounds" '
    function quartile(v, q,   s, i, j, t, at) {
      for (i = 1; i <= NR; i++) s[i] = v[i]
      for (i = 2; i <= NR; i++)
        for (j = i; j > 1 && s[j] < s[j-1]; j--) { t = s[j]; s[j] = s[j-1]; s[j-1] = t }
      at = 1 + (NR - 1) * q / 4
      i = int(at)
      return i == NR ? s[NR] : s[i] + (at - i) * (s[i+1] - s[i])
    }
    function all(v, form) { return sprintf(form " [" form " " form "]", quartile(v, 2), quartile(v, 1), quartile(v, 3)) }
    { a[NR] = $1; b[NR] = $2; r[NR] = $2 / $1 }
    END { if (NR < rounds) exit 1
      printf "%-6s theirs %s s, ours %s s, ours / theirs %s\n", name, all(a, "%.4g"), all(b, "%.4g"), all(r, "%.3f") }'
}
