import type { Command, Option } from 'commander';

export type Shell = 'bash' | 'zsh';

/** A command as completion sees it: its words so far, what may follow, and options that take a word. */
interface Place {
  /** `tokenlat keys create` */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly { readonly name: string; readonly description: string }[];
  /** Options with a value, and what it may be; none = anything, such as a file. */
  readonly values: readonly { readonly names: readonly string[]; readonly choices: readonly string[] }[];
}

/** A completion script for the tree below `root`. */
export function completionScript(root: Command, shell: Shell): string {
  const places = placesOf(root, root.name());
  return shell === 'bash' ? bashScript(root.name(), places) : zshScript(root.name(), places);
}

function placesOf(command: Command, path: string): readonly Place[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const options = help.visibleOptions(command);
  const place: Place = {
    path,
    subcommands: children.map((child) => ({ name: child.name(), description: child.description() })),
    options: options.flatMap((option) => namesOf(option).map((name) => ({ name, description: option.description }))),
    values: options
      .filter((option) => option.required || option.optional)
      .map((option) => ({ names: namesOf(option), choices: option.argChoices ?? [] })),
  };
  const below = children.flatMap((child) => placesOf(child, `${path} ${child.name()}`));
  const words = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const named = words.map((name) => ({ name, description: '' }));
  return [{ ...place, subcommands: [...place.subcommands, ...named] }, ...below];
}

const namesOf = ({ short, long }: Option): readonly string[] => [long, short].filter((name) => name !== undefined);

/** Both scripts find the command that the words so far lead to, passing over options and their values. */
function walk(places: readonly Place[]): string {
  const steps = places.slice(1).map(({ path }) => quoted(path));
  const taking = places.flatMap(({ path, values }) =>
    values.flatMap(({ names }) => names.map((name) => quoted(`${path} ${name}`))),
  );
  return [
    `    if [[ -n $skip ]]; then skip=; continue; fi`,
    `    case "$place $word" in`,
    ...(steps.length === 0 ? [] : [`      ${steps.join('|')}) place="$place $word" ;;`]),
    ...(taking.length === 0 ? [] : [`      ${taking.join('|')}) skip=1 ;;`]),
    `    esac`,
  ].join('\n');
}

function bashScript(name: string, places: readonly Place[]): string {
  const values = places.flatMap(({ path, values: all }) =>
    all.map(({ names, choices }) => {
      const at = names.map((option) => quoted(`${path} ${option}`)).join('|');
      return choices.length === 0
        ? `    ${at}) return ;;`
        : `    ${at}) COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$current")); return ;;`;
    }),
  );
  const words = places.map(({ path, subcommands, options }) => {
    const plain = quoted(subcommands.map((word) => word.name).join(' '));
    return `    ${quoted(path)}) plain=${plain}; dashed=${quoted(options.map((option) => option.name).join(' '))} ;;`;
  });
  return `# ${name} completion for bash: source <(${name} completion bash)
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} place=${name} skip= word plain dashed
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${walk(places)}
  done
  case "$place \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  case "$place" in
${words.join('\n')}
  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$dashed" -- "$current"))
  else COMPREPLY=($(compgen -W "$plain" -- "$current")); fi
}
complete -o default -F _${name} ${name}
`;
}

function zshScript(name: string, places: readonly Place[]): string {
  const values = places.flatMap(({ path, values: all }) =>
    all.map(({ names, choices }) => {
      const at = names.map((option) => quoted(`${path} ${option}`)).join('|');
      return `    ${at}) ${choices.length === 0 ? '_files' : `compadd -- ${choices.map(quoted).join(' ')}`}; return ;;`;
    }),
  );
  const told = (words: Place['options']): string =>
    words.map((word) => quoted(`${word.name.replaceAll(':', '\\:')}:${word.description}`)).join(' ');
  const words = places.map(
    ({ path, subcommands, options }) =>
      `    ${quoted(path)}) plain=(${told(subcommands)}); dashed=(${told(options)}) ;;`,
  );
  return `#compdef ${name}
# ${name} completion for zsh: source <(${name} completion zsh)
_${name}() {
  local current=\${words[CURRENT]} place=${name} skip= word
  local -a plain dashed
  for word in "\${(@)words[2,CURRENT-1]}"; do
${walk(places)}
  done
  case "$place \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$place" in
${words.join('\n')}
  esac
  if [[ $current == -* ]]; then _describe option dashed
  elif (( $#plain )); then _describe command plain
  else _files; fi
}
compdef _${name} ${name}
`;
}

/** One word for the shell, whatever it holds. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
