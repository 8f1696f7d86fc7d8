import type { JSX } from 'preact'
import { Field, More } from '../fields.tsx'
import { blankRoute } from '../form-state.ts'
import { useSetupContext } from '../use-setup.ts'
import { RowMessages } from './cell.tsx'
import { ImportRoutes } from './import-routes.tsx'
import { ListFrame } from './list-frame.tsx'
import { RouteItem } from './route-item.tsx'
import { Section } from './section.tsx'

export function RoutesSection(): JSX.Element {
  const setup = useSetupContext()
  const { routes } = setup.form
  const messages = setup.rowMessagesOf('ROUTES')
  return (
    <Section
      id="routes"
      intro="Pay per call: each request to one of these paths is paid for, then passed on to your backend. A failed call is refunded."
    >
      <ListFrame
        name="ROUTES"
        add="Add a route"
        empty="No routes yet."
        count={routes.length}
        onAdd={() => setup.setRoutes([...routes, blankRoute()])}
      >
        {routes.map((row, index) => (
          <RouteItem
            key={row.key}
            row={row}
            index={index}
            messages={messages.filter((message) => message.row === row.key)}
            onChange={(part) =>
              setup.setRoutes(routes.map((old) => (old.key === row.key ? { ...old, ...part } : old)))
            }
            onRemove={() => setup.setRoutes(routes.filter(({ key }) => key !== row.key))}
          />
        ))}
      </ListFrame>
      <RowMessages messages={messages.filter(({ row }) => row === undefined)} boxes={{}} />
      {!setup.isLocked('ROUTES') && <ImportRoutes />}
      <Field
        name="PROXY_TO_BASE_URL"
        label="Backend"
        hint="Your API. Paid calls go to this address plus their path, and so do calls with a token of a plan."
        placeholder="http://backend:8080"
        inputMode="url"
        optional={routes.length === 0}
      />
      <More title="Signing and limits">
        <Field
          name="PROXY_SECRET"
          label="Shared secret with the backend"
          hint={
            <>
              Signs every call as <code>x-svc-signature</code>, so that the backend can tell it from others.
            </>
          }
          canGenerate
          optional
        />
        <Field name="PROXY_TIMEOUT_SECONDS" label="Time for an answer" placeholder="30 seconds" optional />
        <Field
          name="MAX_RESOURCE_BYTES"
          label="Largest answer"
          placeholder="1048576"
          inputMode="numeric"
          unit="bytes"
          optional
        />
      </More>
    </Section>
  )
}
