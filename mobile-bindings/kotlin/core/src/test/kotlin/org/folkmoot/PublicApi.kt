package org.folkmoot

import java.io.File
import kotlin.metadata.ClassKind
import kotlin.metadata.KmClass
import kotlin.metadata.KmClassifier
import kotlin.metadata.KmConstructor
import kotlin.metadata.KmFunction
import kotlin.metadata.KmPackage
import kotlin.metadata.KmProperty
import kotlin.metadata.KmType
import kotlin.metadata.KmTypeAlias
import kotlin.metadata.KmTypeParameter
import kotlin.metadata.KmTypeProjection
import kotlin.metadata.KmValueParameter
import kotlin.metadata.MemberKind
import kotlin.metadata.Modality
import kotlin.metadata.Visibility
import kotlin.metadata.declaresDefaultValue
import kotlin.metadata.isConst
import kotlin.metadata.isData
import kotlin.metadata.isFunInterface
import kotlin.metadata.isInfix
import kotlin.metadata.isInline
import kotlin.metadata.isNullable
import kotlin.metadata.isOperator
import kotlin.metadata.isSuspend
import kotlin.metadata.isValue
import kotlin.metadata.isVar
import kotlin.metadata.jvm.KotlinClassMetadata
import kotlin.metadata.kind
import kotlin.metadata.modality
import kotlin.metadata.visibility

private val VISIBLE = setOf(Visibility.PUBLIC, Visibility.PROTECTED)
private val SELF_EVIDENT = setOf("Any", "Enum")

/**
 * Lists the public declarations in the compiled classes of a package, one a line, as Kotlin code sees them.
 *
 * A line begins with the class or the package that has the declaration. The lines are sorted.
 */
fun publicApi(packageName: String, folder: File, isPart: (String) -> Boolean = { true }): List<String> {
    val files = File(folder, packageName.replace('.', '/')).listFiles { file -> file.extension == "class" }!!
    val metadata = files.map { it.nameWithoutExtension }.filter(isPart).mapNotNull { name ->
        val kind = Class.forName("$packageName.$name", false, FolkmootClient::class.java.classLoader)
        kind.getAnnotation(Metadata::class.java)?.let(KotlinClassMetadata::readStrict)
    }
    val classes = metadata.filterIsInstance<KotlinClassMetadata.Class>().map { it.kmClass }.associateBy { it.name }
    fun isVisible(name: String): Boolean {
        val owner = name.substringBeforeLast('.', "")
        return classes[name]?.visibility in VISIBLE && (owner.isEmpty() || isVisible(owner))
    }
    val ofClasses = classes.values.filter { isVisible(it.name) }.flatMap(::lines)
    val facades = metadata.filterIsInstance<KotlinClassMetadata.FileFacade>()
    val ofFiles = facades.flatMap { lines(it.kmPackage, packageName) }
    return (ofClasses + ofFiles).sorted()
}

private fun lines(kind: KmClass): List<String> {
    val names = Names(kind.typeParameters)
    val path = kind.name.replace('/', '.')
    val (owner, name) = path.substringBeforeLast('.') to path.substringAfterLast('.')
    val superTypes = kind.supertypes.map(names::text).filter { it.substringBefore('<') !in SELF_EVIDENT }
    val words = listOfNotNull(
        kind.modality.word(unlessIt = if (kind.kind == ClassKind.INTERFACE) Modality.ABSTRACT else Modality.FINAL),
        "data".takeIf { kind.isData },
        "value".takeIf { kind.isValue },
        "fun".takeIf { kind.isFunInterface },
        kind.kind.name.lowercase().replace('_', ' '),
        name + names.declared(kind.typeParameters),
        superTypes.joinToString(prefix = ": ").takeIf { superTypes.isNotEmpty() },
    )
    val constructors = kind.constructors.filter { it.visibility in VISIBLE && kind.kind == ClassKind.CLASS }
    return listOf("$owner: ${words.joinToString(" ")}") +
        constructors.map { "$path: ${text(it, names)}" } +
        kind.kmEnumEntries.map { "$path: ${it.name}" } +
        kind.functions.mapNotNull { text(it, names) }.map { "$path: $it" } +
        kind.properties.mapNotNull { text(it, names) }.map { "$path: $it" }
}

private fun lines(file: KmPackage, owner: String): List<String> {
    val names = Names(emptyList())
    val declarations = file.functions.mapNotNull { text(it, names) } +
        file.properties.mapNotNull { text(it, names) } +
        file.typeAliases.filter { it.visibility in VISIBLE }.map { text(it, names) }
    return declarations.map { "$owner: $it" }
}

private fun text(alias: KmTypeAlias, names: Names): String {
    val own = names + alias.typeParameters
    val declaration = "${alias.name}${own.declared(alias.typeParameters)}"
    return "typealias $declaration = ${own.text(alias.underlyingType, isWhole = true)}"
}

private fun text(constructor: KmConstructor, names: Names) =
    "${constructor.visibility.word()}constructor${names.parameters(constructor.valueParameters)}"

private fun text(function: KmFunction, names: Names): String? {
    if (function.visibility !in VISIBLE || function.kind == MemberKind.SYNTHESIZED) return null
    val own = names + function.typeParameters
    val words = listOfNotNull(
        function.modality.word(unlessIt = Modality.FINAL),
        "inline".takeIf { function.isInline },
        "infix".takeIf { function.isInfix },
        "operator".takeIf { function.isOperator },
        "suspend".takeIf { function.isSuspend },
        "fun",
        own.declared(function.typeParameters).ifEmpty { null },
    )
    val receiver = function.receiverParameterType?.let { "${own.text(it)}." }.orEmpty()
    val parameters = own.parameters(function.valueParameters)
    val signature = "$receiver${function.name}$parameters: ${own.text(function.returnType)}"
    return "${function.visibility.word()}${words.joinToString(" ")} $signature"
}

private fun text(property: KmProperty, names: Names): String? {
    if (property.visibility !in VISIBLE) return null
    val isSettable = property.isVar && property.setter?.visibility in VISIBLE
    val words = listOfNotNull(
        property.modality.word(unlessIt = Modality.FINAL),
        "const".takeIf { property.isConst },
        if (isSettable) "var" else "val",
    )
    val receiver = property.receiverParameterType?.let { "${names.text(it)}." }.orEmpty()
    val signature = "$receiver${property.name}: ${names.text(property.returnType)}"
    return "${property.visibility.word()}${words.joinToString(" ")} $signature"
}

private fun Visibility.word() = if (this == Visibility.PUBLIC) "" else "${name.lowercase()} "

private fun Modality.word(unlessIt: Modality) = if (this == unlessIt) null else name.lowercase()

/** Writes types, with the names of the type parameters in their scope. */
private class Names(parameters: List<KmTypeParameter>, outer: Map<Int, String> = emptyMap()) {
    private val names: Map<Int, String> = outer + parameters.associate { it.id to it.name }

    operator fun plus(parameters: List<KmTypeParameter>) = Names(parameters, names)

    fun declared(parameters: List<KmTypeParameter>): String {
        val texts = parameters.map { one ->
            one.name + one.upperBounds.map(::text).filter { it != "Any?" }.joinToString("") { " : $it" }
        }
        return if (texts.isEmpty()) "" else texts.joinToString(prefix = "<", postfix = ">")
    }

    fun parameters(parameters: List<KmValueParameter>) = parameters.joinToString(prefix = "(", postfix = ")") { one ->
        val type = one.varargElementType?.let { "vararg ${text(it)}" } ?: text(one.type)
        "${one.name}: $type${if (one.declaresDefaultValue) " = …" else ""}"
    }

    /** Writes a type with the last part of its name, or with its whole name. */
    fun text(type: KmType, isWhole: Boolean = false): String {
        val shown = type.abbreviatedType ?: type
        val name = when (val classifier = shown.classifier) {
            is KmClassifier.Class -> classifier.name
            is KmClassifier.TypeAlias -> classifier.name
            is KmClassifier.TypeParameter -> names.getValue(classifier.id)
        }
        val short = if (isWhole) name.replace('/', '.') else name.substringAfterLast('/')
        val arguments = shown.arguments.map(::text)
        val list = if (arguments.isEmpty()) "" else arguments.joinToString(prefix = "<", postfix = ">")
        return "${if (shown.isSuspend) "suspend " else ""}$short$list${if (type.isNullable) "?" else ""}"
    }

    private fun text(projection: KmTypeProjection): String {
        val variance = projection.variance?.name?.lowercase()?.let { if (it == "invariant") "" else "$it " }.orEmpty()
        return projection.type?.let { variance + text(it) } ?: "*"
    }
}
