/** Plays cases on both servers and holds their answers together. */
import type { Answer, Case } from './case.ts'
import { answerOf, type Difference, differenceOf } from './compare.ts'
import { Player, type Server } from './player.ts'

interface Played {
  ours: Answer[]
  theirs: Answer[]
}

/** How often a case with a difference is played in all: a real server does not always answer the same. */
const maxPlays = 3

export class Session {
  readonly #ours: Player
  readonly #theirs: Player
  /** Distinguishes the objects of this run from those of others. */
  readonly #run = Date.now().toString(36).slice(-4)
  #plays = 0

  constructor(ours: Server, theirs: Server) {
    this.#ours = new Player(ours)
    this.#theirs = new Player(theirs)
  }

  async play(asked: Pick<Case, 'steps'>): Promise<Played> {
    const name = `d${this.#run}-${this.#plays++}`
    const play = async (player: Player): Promise<Answer[]> => {
      const answers = await player.play(asked, name)
      return answers.map((answer) => answerOf(answer, name))
    }
    const [ours, theirs] = await Promise.all([play(this.#ours), play(this.#theirs)])
    return { ours, theirs }
  }

  /** Returns the difference of the last step. */
  async differenceAtEnd(asked: Pick<Case, 'steps'>): Promise<Difference | undefined> {
    const { ours, theirs } = await this.play(asked)
    return differenceOf(ours.at(-1)!, theirs.at(-1)!)
  }

  /**
   * Yields what was found for each step, up to the first difference. A step is equal if one of our answers equals one
   * of theirs; it is `unstable` if none does, and theirs differ from each other.
   */
  async *compare(asked: Pick<Case, 'steps'>): AsyncGenerator<Difference | 'unstable' | undefined> {
    const plays = [await this.play(asked)]
    for (const place of asked.steps.keys()) {
      const same = (): boolean =>
        plays.some(({ ours }) => plays.some(({ theirs }) => !differenceOf(ours[place]!, theirs[place]!)))
      while (!same() && plays.length < maxPlays) plays.push(await this.play(asked))
      if (same()) {
        yield undefined
        continue
      }
      const [first, ...others] = plays as [Played, ...Played[]]
      const varies = others.some(({ theirs }) => differenceOf(theirs[place]!, first.theirs[place]!))
      yield varies ? 'unstable' : differenceOf(first.ours[place]!, first.theirs[place]!)
      return
    }
  }
}
