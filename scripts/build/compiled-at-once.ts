const moduleFunction =
  /^(var \w+ = __(?:esm|commonJS)\(\{\n {2}"[^"\n]+")(\([\w, ]*\) \{\n[\s\S]*?\n {2}\})(\n\}\);)$/gm

/**
 * The text of a bundle of esbuild, which makes a function of each module. V8 compiles a function with a parenthesis
 * before it together with its file, so that Node's compile cache keeps it; any other it would compile at each start.
 */
export const compiledAtOnce = (text: string): string => text.replace(moduleFunction, '$1: (function$2)$3')
