import { playSeeds, type Seeds } from './play-seeds.ts'

/** One process of a run in parts: it is told a part, plays it, and answers what it came to. */
process.on('message', (seeds: Seeds) => {
  void playSeeds(seeds).then((tally) => process.send!(tally))
})
// Without the run nobody would keep what it plays.
process.on('disconnect', () => process.exit())
