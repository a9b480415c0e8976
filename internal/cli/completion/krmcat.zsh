#compdef krmcat
# zsh completion for krmcat
_krmcat() {
  local -a before candidates
  before=("${(@)words[1,CURRENT-1]}")
  if [[ "${words[CURRENT]}" == -* ]]; then
    before+=("${words[CURRENT]}")
  fi
  candidates=("${(@f)$("${(@)before}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "${candidates[1]}" ]]; then
    compadd -- "${(@)candidates}"
  else
    _files
  fi
}
compdef _krmcat krmcat
