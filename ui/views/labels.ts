export interface Label {
  /** Of the mark that it is beside. */
  x: number
  text: string
}

export interface PlacedLabel extends Label {
  row: number
  anchor: 'start' | 'end'
  /** Where the text begins or, with the anchor `end`, ends. */
  textX: number
}

interface Place extends Omit<PlacedLabel, keyof Label> {
  from: number
  to: number
}

/** Of one letter of a soft text, rather too wide than too narrow. */
const letterWidth = 6

interface Edges {
  left: number
  right: number
}

/** Texts `gap` beside their marks, to the right where there is room, in rows where they do not cover each other. */
export function placeLabels(labels: readonly Label[], rows: number, edges: Edges, gap = 8): PlacedLabel[] {
  const taken: Place[] = []
  return labels.map((label): PlacedLabel => {
    const places = placesOf(label, rows, gap)
    const inside = places.filter(({ from, to }) => from >= edges.left && to <= edges.right)
    const free = inside.find((place) => !taken.some((other) => other.row === place.row && covers(place, other)))
    const place = free ?? inside[0] ?? (places[0] as Place)
    taken.push(place)
    const { row, anchor, textX } = place
    return { ...label, row, anchor, textX }
  })
}

function placesOf({ x, text }: Label, rows: number, gap: number): Place[] {
  const width = text.length * letterWidth
  const all = Array.from({ length: rows }, (_, row) => row)
  return [
    ...all.map((row): Place => ({ row, anchor: 'start', textX: x + gap, from: x + gap, to: x + gap + width })),
    ...all.map((row): Place => ({ row, anchor: 'end', textX: x - gap, from: x - gap - width, to: x - gap })),
  ]
}

const covers = (a: Place, b: Place): boolean => a.from < b.to + letterWidth && b.from < a.to + letterWidth
