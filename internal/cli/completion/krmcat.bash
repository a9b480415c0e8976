# bash completion for krmcat
_krmcat() {
  local cur="${COMP_WORDS[COMP_CWORD]}" candidate
  local -a words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  COMPREPLY=()
  if [[ "$cur" == -* ]]; then
    words+=("$cur")
  fi
  while IFS= read -r candidate; do
    if [[ "$candidate" == "$cur"* ]]; then
      COMPREPLY+=("$candidate")
    fi
  done < <("${words[@]}" --generate-bash-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _krmcat krmcat
