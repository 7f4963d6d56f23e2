import { h, type JSX } from 'preact'

/** Shows rows below one line of headings. Those that `wide` names are columns of a wide page alone. */
export function dataTable(
  heads: readonly string[],
  rows: readonly JSX.Element[],
  wide?: ReadonlySet<string>,
): JSX.Element {
  const cells = heads.map((name) => h('th', { scope: 'col', class: wide?.has(name) ? 'wide' : undefined }, name))
  return h('table', null, [h('thead', null, h('tr', null, cells)), h('tbody', null, rows)])
}
