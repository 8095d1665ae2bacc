import java.io.File
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.folkmoot.ClientOptions
import org.folkmoot.Event
import org.folkmoot.FolkmootClient
import org.folkmoot.Labels

fun main(arguments: Array<String>): Unit = runBlocking {
    val (coordinator, token, certificate, table) = arguments
    val rows = File(table).readLines().map { line -> line.split(",").map(String::toFloat) }
    val features = rows.flatMap { it.take(64) }.toFloatArray()
    val digits = rows.map { it[64].toInt() }.toIntArray()

    val options = ClientOptions(coordinator, File("first-client"), token, File(certificate).readBytes())
    FolkmootClient.connect(options).use { client ->
        client.examples.add(features, listOf(64), Labels.Classes(digits))
        val telling = launch(start = CoroutineStart.UNDISPATCHED) {
            client.events.collect { if (it is Event.Round) println("round ${it.roundNumber}") }
        }
        client.run(rounds = 10)
        telling.cancel()
        val outputs = client.predict(features, rows.size)
        val right = digits.indices.count { row ->
            val scores = outputs.row(row)
            scores.indices.maxBy { scores[it] } == digits[row]
        }
        println("right: ${right.toDouble() / rows.size}")
    }
}
