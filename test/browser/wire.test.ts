import { expectTypeOf, test } from 'vitest'
import type { challengePage } from '../../src/server/admin/challenge-page.ts'
import type { CreditsReport } from '../../src/server/admin/credits-book.ts'
import type { creditsOfSale } from '../../src/server/admin/credits-pages.ts'
import type { overview } from '../../src/server/admin/overview.ts'
import type { showSale } from '../../src/server/admin/sale.ts'
import type { checkCandidate } from '../../src/server/setup/check-candidate.ts'
import type { SetupState as ServerState } from '../../src/server/setup/describe-state.ts'
import type {
  ChallengeDetail,
  ChallengeItem,
  CheckAnswer,
  CreditsView,
  Overview,
  SaleCredits,
  SetupState,
} from '../../ui/shared/wire.ts'

type Answer<F extends (...input: never[]) => unknown> = NonNullable<Awaited<ReturnType<F>>>

// The compiler does the checking, in the step `types` of npm test.
test('what the server answers is what the pages read', () => {
  expectTypeOf<Answer<typeof overview>>().toExtend<Overview>()
  expectTypeOf<Answer<typeof challengePage>['challenge']>().toExtend<ChallengeDetail['challenge']>()
  expectTypeOf<Answer<typeof challengePage>['timeline']>().toExtend<ChallengeDetail['timeline']>()
  expectTypeOf<Omit<CreditsReport, 'asOf'>>().toExtend<Omit<CreditsView, 'asOf'>>()
  expectTypeOf<NonNullable<ReturnType<typeof creditsOfSale>>>().toExtend<SaleCredits>()
  expectTypeOf<Answer<typeof showSale>>().toExtend<ChallengeItem>()
  expectTypeOf<Answer<typeof checkCandidate>>().toExtend<CheckAnswer>()
  expectTypeOf<Omit<ServerState, 'values'>>().toExtend<Omit<SetupState, 'values'>>()
})
