import type { JSX } from 'preact'
import { Field, Flag, More } from '../fields.tsx'
import { WebhookTest } from '../webhook-test.tsx'
import { Section } from './section.tsx'

export function OperationsSection(): JSX.Element {
  return (
    <Section id="operations" intro="For you, the operator.">
      <Field
        name="ADMIN_TOKEN"
        label="Operator’s token"
        hint="Logs you in here and on the dashboard. Without one, the server prints a new one each time it starts."
        canGenerate
        optional
      />
      <Field
        name="ALERT_WEBHOOK_URL"
        label="Alert webhook"
        hint="Gets a POST when something needs you: an empty gas wallet, a failed refund."
        placeholder="https://hooks.example.com/…"
        inputMode="url"
        optional
      />
      <Field
        name="WEBHOOK_URL"
        label="Webhooks"
        hint="Told of every sale, refund and alert by a signed POST. Several: separated by commas."
        placeholder="https://shop.example.com/hooks"
        inputMode="url"
        optional
      />
      <WebhookTest />
      <More title="Webhooks: secret and private hosts">
        <Field
          name="WEBHOOK_SECRET"
          label="Secret of the webhooks"
          hint={
            <>
              <code>whsec_…</code>, one per URL; <code>old|new</code> while you replace it. Without one,{' '}
              <code>paystile webhooks secret</code> shows the one that is made for you.
            </>
          }
          optional
        />
        <Field
          name="WEBHOOK_ALLOW_HOSTS"
          label="Private hosts that may be called"
          hint="host or host:port, separated by commas."
          placeholder="accounting.internal:8080"
          optional
        />
      </More>
      <More title="Log and limits">
        <Field
          name="LOG_LEVEL"
          label="Log level"
          hint="debug, info, warn or error."
          placeholder="info"
          optional
        />
        <Field
          name="RATE_LIMIT_PER_MINUTE"
          label="Unpaid requests per address"
          placeholder="600"
          inputMode="numeric"
          unit="per minute"
          optional
        />
        <Field
          name="PAYER_FAILURES_PER_MINUTE"
          label="Failing payments per payer"
          placeholder="30"
          inputMode="numeric"
          unit="per minute"
          optional
        />
        <Field
          name="PAYER_UNDELIVERED_PER_DAY"
          label="Undelivered calls per payer"
          hint="They are refunded at your cost. Beyond this the payer is refused until the next day."
          placeholder="20"
          inputMode="numeric"
          unit="per day"
          optional
        />
        <Field
          name="PAYER_LOST_GAS_PER_DAY"
          label="Gas lost to one payer"
          hint="By payments that fail on the chain. Beyond this the payer is refused until the next day."
          placeholder="1500000"
          inputMode="numeric"
          unit="gas per day"
          optional
        />
        <Field
          name="LOST_GAS_PER_DAY"
          label="Gas lost to all payers"
          hint="Beyond this only accounts without code are served until the next day."
          placeholder="30000000"
          inputMode="numeric"
          unit="gas per day"
          optional
        />
        <Field
          name="MAX_BODY_BYTES"
          label="Largest request"
          placeholder="1048576"
          inputMode="numeric"
          unit="bytes"
          optional
        />
        <Field
          name="REQUEST_TIMEOUT_SECONDS"
          label="Time for a request, beside settlement"
          placeholder="30 seconds"
          optional
        />
        <Flag
          name="TRUST_PROXY"
          byDefault={false}
          label="Behind a proxy"
          hint={
            <>
              Believe <code>X-Forwarded-For</code>. Only if a proxy of yours sets it.
            </>
          }
        />
      </More>
    </Section>
  )
}
