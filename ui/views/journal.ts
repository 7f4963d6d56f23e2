import { h, type JSX } from 'preact'
import type { JournalRow } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import { dataTable } from './data-table.ts'
import { clockOf, type TimeWindow } from './time-axis.ts'

const columns = 120

/** Counts the requests in each column of the time window. */
function heatOf(row: JournalRow, { fromMs, toMs }: TimeWindow): number[] {
  const counts = new Array<number>(columns).fill(0)
  const width = Math.max((toMs - fromMs) / columns, 1)
  for (const [second, count] of row.seconds) {
    const index = Math.floor((second * 1_000 - fromMs) / width)
    if (index >= -1_000 / width && index < columns) counts[Math.max(index, 0)]! += count
  }
  return counts
}

/** Shows how often each user made each request: a strip for each, darker where there were more. */
export function JournalView({ story, window }: { story: Story; window: TimeWindow }): JSX.Element {
  const rows = [...story.journal.values()].sort(
    (a, b) => Number(b.hotMs !== undefined) - Number(a.hotMs !== undefined) || b.total - a.total,
  )
  if (!rows.length) return h('p', null, 'The record has no requests.')
  const strips = rows.slice(0, 100).map((row) => ({ row, heat: heatOf(row, window) }))
  const most = Math.max(1, ...strips.flatMap(({ heat }) => heat))
  const shown = strips.map(({ row, heat }) =>
    h('tr', { key: `${row.user} ${row.verb} ${row.resource}` }, [
      h('td', null, h('bdi', null, row.user)),
      h('td', null, [
        h('bdi', null, `${row.verb} ${row.resource}`),
        row.hotMs ? h('div', { class: 'hot' }, `loop since ${clockOf(row.hotMs)}`) : null,
      ]),
      h('td', null, h(Heat, { heat, most })),
      h('td', { class: 'num' }, String(row.total)),
      h('td', { class: 'num' }, String(row.mostPerSecond)),
      h('td', { class: 'num' }, String(row.failed)),
    ]),
  )
  const heads = ['User', 'Request', 'Over time', 'All', 'Most per second', 'Failed']
  return h('section', null, [
    h('h2', null, 'Requests to the API server'),
    h(
      'p',
      { class: 'soft' },
      'A stronger colour means more. A loop is marked where one user wrote to one resource at least 10 times in each of 3 seconds.',
    ),
    h(
      'div',
      { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Requests by user' },
      dataTable(heads, shown),
    ),
  ])
}

function Heat({ heat, most }: { heat: readonly number[]; most: number }): JSX.Element {
  const cells = heat.flatMap((count, index) =>
    count
      ? [
          h('rect', {
            class: 'heat',
            x: index * 3,
            y: 0,
            width: 3,
            height: 16,
            opacity: (0.18 + 0.82 * (Math.log1p(count) / Math.log1p(most))).toFixed(2),
          }),
        ]
      : [],
  )
  return h('svg', { class: 'ks', width: columns * 3, height: 16, 'aria-hidden': 'true' }, [
    h('rect', { class: 'group', width: columns * 3, height: 16 }),
    ...cells,
  ])
}
