export interface Label {
  /** Position of the label's mark. */
  x: number
  text: string
}

export interface PlacedLabel extends Label {
  row: number
  anchor: 'start' | 'end'
  /** Where the text begins or, with the anchor `end`, where it ends. */
  textX: number
}

interface Place extends Omit<PlacedLabel, keyof Label> {
  from: number
  to: number
}

/** Estimated width of a letter in soft text, rather too wide than too narrow. */
const letterWidth = 6.4

interface Edges {
  left: number
  right: number
}

/** Lengths in letters to which a text is cut if there is no room for it. */
const cuts = [26, 18, 11]

/**
 * Places texts `gap` beside their marks, to the right if there is room, in rows in which they do not overlap. A text
 * without room is cut, or left out.
 */
export function placeLabels(labels: readonly Label[], rows: number, edges: Edges, gap = 8): PlacedLabel[] {
  const taken: Place[] = []
  return labels.flatMap((label): PlacedLabel[] => {
    const { x } = label
    for (const text of [label.text, ...cuts.flatMap((length) => cutTo(label.text, length))]) {
      const inside = placesOf({ x, text }, rows, gap).filter(({ from, to }) => from >= edges.left && to <= edges.right)
      const place = inside.find((each) => !taken.some((other) => other.row === each.row && covers(each, other)))
      if (!place) continue
      taken.push(place)
      const { row, anchor, textX } = place
      return [{ x, text, row, anchor, textX }]
    }
    return []
  })
}

const cutTo = (text: string, length: number): string[] =>
  text.length > length ? [`${text.slice(0, length - 1)}…`] : []

function placesOf({ x, text }: Label, rows: number, gap: number): Place[] {
  const width = text.length * letterWidth
  const all = Array.from({ length: rows }, (_, row) => row)
  return [
    ...all.map((row): Place => ({ row, anchor: 'start', textX: x + gap, from: x + gap, to: x + gap + width })),
    ...all.map((row): Place => ({ row, anchor: 'end', textX: x - gap, from: x - gap - width, to: x - gap })),
  ]
}

const covers = (a: Place, b: Place): boolean => a.from < b.to + letterWidth && b.from < a.to + letterWidth
