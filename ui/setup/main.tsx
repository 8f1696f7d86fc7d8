import { render } from 'preact'
import '../styles/setup.css'
import { AppFrame } from '../shared/app-frame.tsx'
import { SetupApp } from './setup-app.tsx'

const app = document.getElementById('app')
if (app)
  render(<AppFrame purpose="Set up your gateway">{(frame) => <SetupApp frame={frame} />}</AppFrame>, app)
