import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { basePath } from '../shared/api.ts'
import type { Frame } from '../shared/app-frame.tsx'
import { Header, NetworkBadge } from '../shared/header.tsx'
import { Notice } from '../shared/notice.tsx'
import type { Overview, Range } from '../shared/wire.ts'
import { Alerts } from './alerts.tsx'
import { ChallengeDrawer } from './challenge-drawer.tsx'
import { Challenges } from './challenges.tsx'
import { Credits } from './credits.tsx'
import { ExportMenu } from './export-menu.tsx'
import { Figures } from './figures.tsx'
import { Funnel } from './funnel.tsx'
import { Networks } from './networks.tsx'
import { RangePicker } from './range-picker.tsx'
import { RefundsWaiting } from './refunds-waiting.tsx'
import { Revenue } from './revenue.tsx'
import { Trends } from './trends.tsx'
import { useData, useNow } from './use-data.ts'
import { useLive } from './use-live.ts'
import { useOpenChallenge } from './use-open-challenge.ts'
import { Wallets } from './wallets.tsx'
import { Webhooks } from './webhooks.tsx'

export function AdminApp({ frame }: { frame: Frame }): JSX.Element {
  const [range, setRange] = useState<Range>('7d')
  const live = useLive()
  const now = useNow()
  const [open, setOpen] = useOpenChallenge()
  const { data: overview, fault } = useData<Overview>(`/admin/api/overview?range=${range}`, live.tick)
  const { session } = frame

  return (
    <>
      <Header frame={frame} here="admin">
        {overview && (
          <NetworkBadge
            network={overview.networks?.map(({ name }) => name).join(', ') ?? overview.network}
            testnet={overview.testnet}
          />
        )}
        <span class={`live-state ${live.connected ? 'on' : ''}`} role="status">
          <span class="wide-word">{live.connected ? 'Live' : 'Reconnecting…'}</span>
        </span>
      </Header>
      <main class="dashboard" id="main">
        {overview && <Alerts alerts={overview.alerts} now={now} onCleared={live.refresh} />}
        <div class="dashboard-head">
          <h1>{session.agentName ?? 'Dashboard'}</h1>
          <div class="dashboard-tools">
            <RangePicker range={range} onChange={setRange} />
            <ExportMenu />
          </div>
        </div>
        {!session.configured && (
          <Notice level="warn" title="Nothing is for sale yet">
            <p>
              <a href={`${basePath}/setup`}>Finish the setup</a> to start.
            </p>
          </Notice>
        )}
        {fault !== '' && (
          <Notice level="error" title="The figures could not be read">
            <p>{fault}</p>
          </Notice>
        )}
        {overview?.reading && (
          <Notice level="warn" title="The history is still being read">
            <p>
              {overview.reading.done} of {overview.reading.total} entries so far; figures of the past will
              still grow.
            </p>
          </Notice>
        )}
        <Figures overview={overview} />
        <div class="columns wide-left">
          <Trends overview={overview} range={range} />
          <Funnel overview={overview} />
        </div>
        <div class="columns">
          <div class="stack">
            <Revenue overview={overview} />
            <Networks overview={overview} now={now} />
          </div>
          <Wallets overview={overview} />
        </div>
        <Credits tick={live.tick} now={now} />
        <RefundsWaiting
          tick={live.tick}
          now={now}
          networks={overview?.networks}
          onOpen={setOpen}
          onChanged={live.refresh}
        />
        <Webhooks tick={live.tick} now={now} />
        <Challenges tick={live.tick} now={now} networks={overview?.networks} onOpen={setOpen} />
      </main>
      {open !== undefined && (
        <ChallengeDrawer
          key={open}
          id={open}
          tick={live.tick}
          onClose={() => setOpen(undefined)}
          onChanged={live.refresh}
        />
      )}
    </>
  )
}
