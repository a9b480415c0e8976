# PowerShell completion for krmcat
Register-ArgumentCompleter -Native -CommandName krmcat -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
    if ($wordToComplete -ne '' -and -not $wordToComplete.StartsWith('-') -and $words.Count -gt 1) {
        $words = @($words[0..($words.Count - 2)])
    }
    $rest = @($words | Select-Object -Skip 1) + '--generate-bash-completion'
    & $words[0] @rest 2>$null | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
