package org.folkmoot.digits

import android.os.Bundle
import androidx.activity.ComponentActivity
import androidx.activity.compose.setContent
import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.safeDrawingPadding
import androidx.compose.material3.Button
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.OutlinedButton
import androidx.compose.material3.Text
import androidx.compose.runtime.Composable
import androidx.compose.runtime.collectAsState
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateListOf
import androidx.compose.runtime.remember
import androidx.compose.ui.Modifier
import androidx.compose.ui.unit.dp
import androidx.lifecycle.viewmodel.compose.viewModel

class MainActivity : ComponentActivity() {
    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContent { MaterialTheme { DigitsScreen() } }
    }
}

@Composable
fun DigitsScreen(model: DigitsModel = viewModel()) {
    val state by model.state.collectAsState()
    val lines = remember { mutableStateListOf<List<Dot>>() }
    Column(Modifier.safeDrawingPadding().padding(16.dp), Arrangement.spacedBy(12.dp)) {
        Text("${state.drawings} drawings on this device", style = MaterialTheme.typography.titleMedium)
        Pad(lines)
        Digits { digit ->
            features(lines)?.let { model.label(it, digit) }
            lines.clear()
        }
        Row(horizontalArrangement = Arrangement.spacedBy(8.dp)) {
            OutlinedButton(onClick = { lines.clear() }) { Text("Clear") }
            OutlinedButton(onClick = { features(lines)?.let(model::guess) }, enabled = !state.isRunning) {
                Text("Guess")
            }
        }
        Row(horizontalArrangement = Arrangement.spacedBy(8.dp)) {
            Button(onClick = model::takePartOrStop) { Text(if (state.isRunning) "Stop" else "Take part now") }
            OutlinedButton(onClick = model::takePartWhenIdle) { Text("While charging") }
        }
        Text(state.line)
        if (state.rounds.isNotEmpty()) Text("Rounds with an update from this device: ${state.rounds.joinToString()}.")
    }
}

@Composable
private fun Digits(onDigit: (Int) -> Unit) {
    for (row in listOf(0..4, 5..9)) {
        Row(horizontalArrangement = Arrangement.spacedBy(4.dp)) {
            for (digit in row) OutlinedButton(onClick = { onDigit(digit) }) { Text("$digit") }
        }
    }
}
