/**
 * Kubernetes' `$(NAME)`: replaced when `lookup` knows the name, left as it stands when not; `$$` is a plain dollar
 * sign. No shell: `$NAME` and `${NAME}` mean nothing here.
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found, name?: string) => {
    if (name === undefined) return '$'
    return lookup(name) ?? found
  })
}
