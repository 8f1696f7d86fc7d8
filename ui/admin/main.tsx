import { render } from 'preact'
import 'uplot/dist/uPlot.min.css'
import '../styles/admin.css'
import { AppFrame } from '../shared/app-frame.tsx'
import { AdminApp } from './admin-app.tsx'

const app = document.getElementById('app')
if (app) render(<AppFrame purpose="Your dashboard">{(frame) => <AdminApp frame={frame} />}</AppFrame>, app)
