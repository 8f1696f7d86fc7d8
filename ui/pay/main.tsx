import { render } from 'preact'
import type { PayOffer } from '../../src/transports/people/payment-page.ts'
import { PayApp } from './pay-app.tsx'

const place = document.getElementById('pay')
const offer = document.getElementById('offer')?.textContent
if (place && offer) render(<PayApp offer={JSON.parse(offer) as PayOffer} />, place)
