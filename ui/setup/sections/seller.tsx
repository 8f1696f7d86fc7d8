import type { JSX } from 'preact'
import { Field, Flag, More } from '../fields.tsx'
import { Section } from './section.tsx'

export function SellerSection(): JSX.Element {
  return (
    <Section id="seller" intro="Who is selling. Buyers and their agents see this before they pay.">
      <Field name="AGENT_NAME" label="Name" placeholder="Weather API" optional />
      <Field
        name="AGENT_DESCRIPTION"
        label="Description"
        hint="One or two sentences: what a buyer gets."
        placeholder="Hourly forecasts for every place on earth, as JSON."
        lines={2}
        optional
      />
      <Field
        name="BASE_URL"
        label="Public address"
        hint="Where buyers reach this server from outside. It is in every offer that they sign."
        placeholder="https://api.example.com"
        inputMode="url"
        optional
      />
      <Field
        name="CONTACT_EMAIL"
        label="Email for buyers and directories"
        hint="It is published. Directories verify by it that a listing is yours."
        placeholder="support@example.com"
        inputMode="email"
        optional
      />
      <More title="Company and version">
        <Field name="PROVIDER_NAME" label="Company" placeholder="Example Ltd" optional />
        <Field
          name="PROVIDER_URL"
          label="Company’s website"
          placeholder="https://example.com"
          inputMode="url"
          optional
        />
        <Field name="AGENT_VERSION" label="Version on the agent card" placeholder="1.0.0" optional />
      </More>
      <More title="Pages for people">
        <Flag
          name="SHOP_WINDOW"
          byDefault
          label="Shop window"
          hint="At the public address, people see what is sold and how to buy it; a paid GET route that they open takes the payment from their wallet."
        />
        <Field name="SHOP_NAME" label="Name shown there" hint="Without it: the name above." optional />
        <Field
          name="SHOP_LOGO_URL"
          label="Logo"
          hint="The https address of an image, or its path on this host."
          placeholder="https://example.com/logo.svg"
          optional
        />
        <Field name="SHOP_COLOR" label="Color" placeholder="#0b57b0" optional />
      </More>
    </Section>
  )
}
